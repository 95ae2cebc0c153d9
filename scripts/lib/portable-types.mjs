// Makes the emitted declarations readable for compilers and settings other than ours.
import {readdirSync, readFileSync, writeFileSync} from 'node:fs';

/** Declares `AsyncDisposable` and `Symbol.asyncDispose`, which `lib: es2022` does not have. */
const DISPOSABLE_LIB = '/// <reference lib="esnext.disposable" />\n';

/** Rewrites every declaration file below a folder. */
export function writePortableTypes(folder) {
	for (const name of readdirSync(folder, {recursive: true, encoding: 'utf8'})) {
		if (!name.endsWith('.d.ts')) continue;
		const file = `${folder}/${name}`;
		const text = readFileSync(file, 'utf8');
		const portable = toPortableTypes(text);
		if (portable !== text) writeFileSync(file, portable);
	}
}

export function toPortableTypes(text) {
	// The same type, spelled as compilers before TypeScript 5.7 know it.
	const spelled = text.replaceAll('Uint8Array<ArrayBufferLike>', 'Uint8Array');
	return /\b(?:Async)?Disposable\b|\bSymbol\.(?:asyncDispose|dispose)\b/.test(spelled)
		? DISPOSABLE_LIB + spelled
		: spelled;
}
