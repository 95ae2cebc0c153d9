import {accessSync, constants} from 'node:fs';

export function isExecutable(file: string): boolean {
	return allows(file, constants.X_OK);
}

export function isWritable(file: string): boolean {
	return allows(file, constants.W_OK);
}

function allows(file: string, mode: number): boolean {
	try {
		accessSync(file, mode);
		return true;
	} catch {
		return false;
	}
}
