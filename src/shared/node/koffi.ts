// A file of its own because koffi is loaded lazily, also by code that needs nothing else of the native backend.
import {existsSync} from 'node:fs';
import {createRequire} from 'node:module';

/** The used part of koffi, the foreign function interface to the C library. */
export interface Koffi {
	readonly version?: string;
	load(path: null): {func(signature: string): (...parameters: unknown[]) => unknown};
	errno(): number;
}

/** By kind of processor: the program that a process with musl is started by. One with another C library may be there, too. */
const MUSL_LOADERS: Readonly<Record<string, string>> = {
	x64: '/lib/ld-musl-x86_64.so.1',
	arm64: '/lib/ld-musl-aarch64.so.1',
};

let koffi: Koffi | undefined;
let isInstalled: boolean | undefined;

/** Throws where it is not installed or does not run. */
export function loadKoffi(): Koffi {
	koffi ??= requireFirst(listPlaces());
	return koffi;
}

/** Whether this program has it already: loading it takes ten milliseconds, more than it saves in a small task. */
export function isKoffiLoaded(): boolean {
	return koffi !== undefined;
}

/** Whether it is there, without loading it; looked for once. */
export function isKoffiInstalled(): boolean {
	isInstalled ??= listPlaces().some(canResolve);
	return isInstalled;
}

/**
 * Where it may be found, the soonest loaded first. The entry point of the package searches many places for its binary,
 * and that of the binary looks into Node's own program for the C library: either takes longer than loading the binary.
 */
export function listPlaces(isThere: (path: string) => boolean = existsSync): readonly string[] {
	const {platform, arch} = process;
	const binary = `@koromix/koffi-${platform}-${arch}`;
	const loader = MUSL_LOADERS[arch];
	const isGlibc = platform === 'linux' && loader !== undefined && !isThere(loader);
	return [...(isGlibc ? [`${binary}/linux_${arch}/koffi.node`] : []), binary, 'koffi'];
}

function requireFirst(places: readonly string[]): Koffi {
	const require = createRequire(import.meta.url);
	for (const place of places.slice(0, -1)) {
		try {
			const found = require(place) as Koffi;
			if (found.version !== undefined) return found;
		} catch {
			// Another version of the package may keep it elsewhere.
		}
	}
	return require(places.at(-1)!) as Koffi;
}

function canResolve(name: string): boolean {
	try {
		return createRequire(import.meta.url).resolve(name) !== '';
	} catch {
		return false;
	}
}
