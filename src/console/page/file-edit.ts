import type {Files} from '../../client/files/files.js';

type EditedFiles = Pick<Files, 'readFile' | 'writeFile' | 'supports'>;

/** Replaces the whole content, if the file is still the one that was read. */
export async function saveWhole(files: EditedFiles, path: string, before: Uint8Array, text: string): Promise<void> {
	const present = await files.readFile(path);
	if (!isSame(present, before)) throw new Error('the file was changed meanwhile: look at it again first');
	await write(files, path, text);
}

/** Replaces a text that is in the file exactly once. */
export async function replaceUnique(files: EditedFiles, path: string, from: string, to: string): Promise<void> {
	const text = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(await files.readFile(path));
	// A text area has line feeds only.
	const [wanted, next] =
		text.includes('\r\n') && !text.includes(from)
			? [from.replaceAll('\n', '\r\n'), to.replaceAll('\n', '\r\n')]
			: [from, to];
	const at = text.indexOf(wanted);
	if (at < 0) throw new Error('the text is not in the file');
	if (text.includes(wanted, at + 1))
		throw new Error('the text is in the file more than once: take more of what is around it');
	await write(files, path, text.slice(0, at) + next + text.slice(at + wanted.length));
}

/** All or nothing where the machine can do that. */
async function write(files: EditedFiles, path: string, text: string): Promise<void> {
	const atomic = await files.supports('atomicWrite');
	await files.writeFile(path, text, atomic ? {atomic} : {});
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
	return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
