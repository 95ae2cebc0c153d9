// Linux only: prctl and the memory of the C library, through koffi.

import {loadKoffi} from '../../../shared/node/koffi.js';
import {PROTECTED_VARIABLES} from '../../../shared/protected-variables.js';
import {holdOwnOomScore} from './apply-limits.js';

const PR_SET_DUMPABLE = 4;

interface Memory {
	prctl(option: number, argument: number): number;
	/** Address of a value, null if there is none. */
	getenv(name: string): unknown;
	strlen(text: unknown): number;
	memset(target: unknown, byte: number, length: number): unknown;
}

const SIGNATURES: Record<keyof Memory, string> = {
	prctl: 'int prctl(int option, unsigned long argument)',
	getenv: 'void *getenv(const char *name)',
	strlen: 'unsigned long strlen(void *text)',
	memset: 'void *memset(void *target, int byte, unsigned long length)',
};

/**
 * Keeps other programs of the same user, children included, from reading the memory, environment and descriptors of this
 * process, from tracing it, and the kernel from writing its memory to a file. Protected variables and those named in
 * `secrets` are erased. Root sees everything else all the same. Returns false where it cannot be done; the variables are
 * removed anyway.
 */
export function hideProcess(secrets: readonly string[] = []): boolean {
	const isSecret = (name: string): boolean => PROTECTED_VARIABLES.has(name.toUpperCase()) || secrets.includes(name);
	const names = Object.keys(process.env).filter(isSecret);
	try {
		const library = loadKoffi().load(null);
		const functions = Object.entries(SIGNATURES).map(([name, signature]) => [name, library.func(signature)]);
		const memory = Object.fromEntries(functions) as Memory;
		for (const name of names) erase(memory, name);
		// The entries of a hidden process in /proc belong to root.
		holdOwnOomScore();
		return memory.prctl(PR_SET_DUMPABLE, 0) === 0;
	} catch {
		return false;
	} finally {
		for (const name of names) delete process.env[name];
	}
}

/** Overwrites the value where the kernel put it: `/proc/PID/environ` shows that place, removed variables included. */
function erase(memory: Memory, name: string): void {
	const value = memory.getenv(name);
	if (value !== null) memory.memset(value, 0, memory.strlen(value));
}
