import {type OptionTable, readOptions} from '../../shared/call-options.js';
import type {Files, FollowOptions} from './files.js';

const FOLLOW: OptionTable<FollowOptions> = {sandbox: 'object', root: 'any', followSymlinks: 'flag'};

interface ChangeOptions {
	readonly writeFile: NonNullable<Parameters<Files['writeFile']>[2]>;
	readonly createDirectory: NonNullable<Parameters<Files['createDirectory']>[1]>;
	readonly remove: NonNullable<Parameters<Files['remove']>[1]>;
	readonly copy: NonNullable<Parameters<Files['copy']>[2]>;
	readonly rename: NonNullable<Parameters<Files['rename']>[2]>;
}

/** Options of the operations that change files, where a slip would change something else. */
const TABLES: {readonly [K in keyof ChangeOptions]: OptionTable<ChangeOptions[K]>} = {
	writeFile: {...FOLLOW, atomic: 'flag', recursive: 'flag'},
	createDirectory: {...FOLLOW, recursive: 'flag'},
	remove: {...FOLLOW, recursive: 'flag', force: 'flag'},
	copy: {sandbox: 'object', recursive: 'flag'},
	rename: {sandbox: 'object', root: 'any', overwrite: 'flag', sync: 'flag'},
};

/** Throws a `TypeError` for options that a change does not have. */
export function requireChangeOptions<K extends keyof ChangeOptions>(name: K, options: ChangeOptions[K]): void {
	readOptions<ChangeOptions[K]>(options as never, TABLES[name], `files.${name}()`);
}
