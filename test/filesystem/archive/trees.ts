import {lstatSync, readdirSync, readFileSync, readlinkSync} from 'node:fs';
import tarStream, {type Headers} from 'tar-stream';
import {
	type ArchiveOutcome,
	packTree,
	type UnpackTreeOptions,
	unpackTree,
} from '../../../src/filesystem/archive/index.js';
import {type BytePath, bytePath, joinPath, toFsPath} from '../../../src/filesystem/byte-path.js';

export interface Packed {
	readonly archive: Buffer;
	readonly outcome: ArchiveOutcome;
	readonly totals: {readonly entries: number; readonly bytes: number};
}

/** A whole tree as one archive, read in blocks of the given size. */
export async function packed(path: string, blockBytes = 64 * 1024): Promise<Packed> {
	const tree = await packTree(bytePath(path));
	try {
		const blocks: Buffer[] = [];
		for (;;) {
			const block = Buffer.alloc(blockBytes);
			const {length, eof} = await tree.read(block);
			blocks.push(block.subarray(0, length));
			if (eof) break;
		}
		return {archive: Buffer.concat(blocks), outcome: await tree.finish(), totals: tree.totals};
	} finally {
		await tree.close();
	}
}

export interface UnpackAll extends UnpackTreeOptions {
	readonly sha256?: string;
	readonly blockBytes?: number;
}

/** Unpacks a whole archive; whatever fails first is thrown, and nothing stays open. */
export async function unpacked(archive: Buffer, path: string, options: UnpackAll = {}): Promise<ArchiveOutcome> {
	const {sha256, blockBytes = 64 * 1024, ...rest} = options;
	const tree = await unpackTree(bytePath(path), rest);
	try {
		for (let offset = 0; offset < archive.length; offset += blockBytes) {
			await tree.write(Buffer.from(archive.subarray(offset, offset + blockBytes)));
		}
		return await tree.finish(sha256);
	} finally {
		await tree.abort();
	}
}

/** Everything below a directory as a transfer keeps it, by the bytes of its name; hard links by their first name. */
export function pictureOf(directory: string): Map<string, Record<string, unknown>> {
	const picture = new Map<string, Record<string, unknown>>();
	const first = new Map<number, string>();
	const look = (path: BytePath, name: string): void => {
		const stats = lstatSync(toFsPath(path));
		const common = {mode: stats.mode & 0o777, mtimeMs: Math.floor(stats.mtimeMs)};
		if (stats.isDirectory()) {
			picture.set(name, {kind: 'directory', ...common});
			const names = readdirSync(toFsPath(path), 'latin1').sort();
			for (const own of names) look(joinPath(path, own), name === '' ? own : `${name}/${own}`);
		} else if (stats.isSymbolicLink()) {
			const target = readlinkSync(toFsPath(path), 'latin1');
			picture.set(name, {kind: 'symlink', target, mtimeMs: common.mtimeMs});
		} else {
			if (!first.has(stats.ino)) first.set(stats.ino, name);
			const content = readFileSync(toFsPath(path)).toString('latin1');
			picture.set(name, {kind: 'file', ...common, content, same: first.get(stats.ino)});
		}
	};
	look(bytePath(directory), '');
	return picture;
}

export interface RawEntry extends Headers {
	readonly pax?: Record<string, string>;
	readonly content?: string;
}

/** An archive of whatever entries, sensible or not. */
export async function archiveOf(...entries: readonly RawEntry[]): Promise<Buffer> {
	const pack = tarStream.pack();
	for (const {content = '', ...header} of entries) pack.entry({...header}, Buffer.from(content));
	pack.finalize();
	const chunks: Buffer[] = [];
	for await (const chunk of pack) chunks.push(chunk);
	return Buffer.concat(chunks);
}
