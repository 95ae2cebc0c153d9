import {nativePathOf} from '../paths.js';

/** An entry whose path is a URI, and its path as programs of the executor write it. */
export type WithNativePath<T> = T & {
	/** Undefined if its bytes are not text. */
	readonly nativePath: string | undefined;
};

/** Most readers need one form of the path only: the native one is made when it is asked for. */
class NativeEntry {
	declare readonly path: string;

	constructor(entry: object) {
		Object.assign(this, entry);
	}

	get nativePath(): string | undefined {
		try {
			return nativePathOf(this.path);
		} catch {
			return undefined;
		}
	}
}

export function withNativePath<T extends {readonly path: string}>(entry: T): WithNativePath<T> {
	return new NativeEntry(entry) as unknown as WithNativePath<T>;
}
