import {networkInterfaces} from 'node:os';
import {delimiter, isAbsolute, join} from 'node:path';
import type {TestOptions} from 'vitest';
import {TestRunner} from 'vitest';
import {isExecutable} from '../../src/shared/node/access.js';
import OPTIONAL_PROGRAMS from './optional-programs.json' with {type: 'json'};
import {noSandbox} from './sandboxes.js';

declare module 'vitest' {
	interface TaskMeta {
		/** Reason of a test skipped by its options; a running test passes its reason to `skip` of its context. */
		skipReason?: string;
	}
}

export const NO_IPV6 = 'this machine has no IPv6';

/** Options of a test, or of a group of them, that is skipped for this reason where there is one. */
export function unless(reason: string | undefined): Pick<TestOptions, 'skip' | 'meta'> {
	return reason === undefined ? {} : {skip: true, meta: {skipReason: reason}};
}

/** Options of a test, or of a group of them, that is skipped where one of these programs is missing. */
export function needs(...programs: readonly string[]): Pick<TestOptions, 'skip' | 'meta'> {
	const missing = programs.filter(program => !isInstalled(program));
	return unless(
		missing.length === 0 ? undefined : `${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not installed`,
	);
}

/**
 * Path of a program that a test may have to do without: the running test is skipped where it is missing. Helpers that start an
 * optional program call this, so that no test can reach it without being skipped.
 */
export function optionalProgram(name: keyof typeof OPTIONAL_PROGRAMS): string {
	const path = findProgram(name);
	if (path !== undefined) return path;
	const reason = `${name} is not installed`;
	TestRunner.getCurrentTest()?.context.skip(reason);
	throw new Error(reason);
}

/** Options of tests that need root: to become another user, to mount. */
export function needsRoot(): Pick<TestOptions, 'skip' | 'meta'> {
	return unless(isRoot ? undefined : 'only root can do this');
}

/** Options of tests that need a working sandbox. */
export function needsSandbox(...programs: readonly string[]): Pick<TestOptions, 'skip' | 'meta'> {
	const why = noSandbox();
	return why === undefined ? needs(...programs) : unless(why);
}

/** Options of tests that need IPv6. */
export function needsIpv6(): Pick<TestOptions, 'skip' | 'meta'> {
	return unless(hasIpv6() ? undefined : NO_IPV6);
}

export function hasIpv6(): boolean {
	return Object.values(networkInterfaces()).some(each => each?.some(({address}) => address === '::1'));
}

export const isRoot = process.geteuid?.() === 0;

export function isInstalled(program: string): boolean {
	return findProgram(program) !== undefined;
}

/** Finds a program on the PATH. */
export function findProgram(program: string): string | undefined {
	const directories = isAbsolute(program) ? [''] : (process.env['PATH'] ?? '').split(delimiter);
	return directories.map(directory => join(directory, program)).find(isExecutable);
}

/** User id of `nobody`. */
const NOBODY = 65_534;

/** Runs `work` with the effective user `nobody`, for the whole process. Needs root. */
export async function runAsNobody<T>(work: () => Promise<T>): Promise<T> {
	process.seteuid!(NOBODY);
	try {
		return await work();
	} finally {
		process.seteuid!(0);
	}
}
