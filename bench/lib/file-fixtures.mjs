import {createHash, randomFillSync} from 'node:crypto';
import {
	closeSync,
	lstatSync,
	mkdirSync,
	openSync,
	readdirSync,
	readlinkSync,
	readSync,
	symlinkSync,
	writeFileSync,
	writeSync,
} from 'node:fs';
import {join} from 'node:path';

const BLOCK_BYTES = 1024 * 1024;

/** A file of random content; its sha256. */
export function makeFile(path, bytes) {
	const hash = createHash('sha256');
	const block = Buffer.alloc(BLOCK_BYTES);
	const fd = openSync(path, 'w', 0o640);
	for (let written = 0; written < bytes; written += BLOCK_BYTES) {
		randomFillSync(block);
		hash.update(block);
		writeSync(fd, block);
	}
	closeSync(fd);
	return hash.digest('hex');
}

/** So many files of up to 4 KB in 700 directories, of two modes, every fiftieth a link. */
export function makeTree(root, files) {
	for (let index = 0; index < files; index++) {
		const directory = join(root, `d${index % 100}`, `e${index % 7}`);
		mkdirSync(directory, {recursive: true});
		const path = join(directory, `file ${index}`);
		if (index % 50 === 0) symlinkSync(`file ${index + 700}`, path);
		else
			writeFileSync(path, randomFillSync(Buffer.alloc((index * 7919) % 4000)), {mode: index % 3 === 0 ? 0o755 : 0o640});
	}
}

/** A sha256 of all names, modes and contents below a directory. */
export function digestOfTree(root) {
	const hash = createHash('sha256');
	const visit = (directory, below) => {
		for (const entry of readdirSync(directory, {withFileTypes: true}).sort((a, b) => (a.name < b.name ? -1 : 1))) {
			const path = join(directory, entry.name);
			hash.update(`${below}/${entry.name} ${lstatSync(path).mode.toString(8)}\0`);
			if (entry.isDirectory()) visit(path, `${below}/${entry.name}`);
			else if (entry.isSymbolicLink()) hash.update(readlinkSync(path));
			else addContent(hash, path);
		}
	};
	visit(root, '');
	return hash.digest('hex');
}

function addContent(hash, path) {
	const fd = openSync(path, 'r');
	const block = Buffer.alloc(BLOCK_BYTES);
	for (let got = readSync(fd, block); got > 0; got = readSync(fd, block)) hash.update(block.subarray(0, got));
	closeSync(fd);
}
