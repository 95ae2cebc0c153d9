// A file of its own because koffi is loaded lazily, also by code that needs nothing else of the native backend.
import {createRequire} from 'node:module';

/** The used part of koffi, the foreign function interface to the C library. */
export interface Koffi {
	load(path: null): {func(signature: string): (...parameters: unknown[]) => unknown};
	errno(): number;
}

let hasLoaded = false;

/** Whether this program has it already: loading it takes ten milliseconds, more than it saves in a small task. */
export function isKoffiLoaded(): boolean {
	return hasLoaded;
}

/** Throws where it is not installed or does not run. */
export function loadKoffi(): Koffi {
	const koffi = requireKoffi();
	hasLoaded = true;
	return koffi;
}

function requireKoffi(): Koffi {
	const require = createRequire(import.meta.url);
	try {
		// The entry point of the package searches many places for this binary, which takes longer than loading it.
		return require(`@koromix/koffi-${process.platform}-${process.arch}`) as Koffi;
	} catch {
		return require('koffi') as Koffi;
	}
}

let isInstalled: boolean | undefined;

/** Whether it is there, without loading it; looked for once. */
export function isKoffiInstalled(): boolean {
	isInstalled ??= canResolve(`@koromix/koffi-${process.platform}-${process.arch}`) || canResolve('koffi');
	return isInstalled;
}

function canResolve(name: string): boolean {
	try {
		return createRequire(import.meta.url).resolve(name) !== '';
	} catch {
		return false;
	}
}
