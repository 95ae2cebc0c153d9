import {createRequire} from 'node:module';

/** What is used of the bridge to functions of the C library. */
export interface Koffi {
	load(path: null): {func(signature: string): (...parameters: unknown[]) => unknown};
	errno(): number;
}

/** Throws where it is not installed or does not run. */
export function loadKoffi(): Koffi {
	const require = createRequire(import.meta.url);
	try {
		// The package's entry looks in many places for this one, which takes longer than everything else here.
		return require(`@koromix/koffi-${process.platform}-${process.arch}`) as Koffi;
	} catch {
		return require('koffi') as Koffi;
	}
}
