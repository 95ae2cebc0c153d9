import {accessSync, constants} from 'node:fs';

export function isExecutable(file: string): boolean {
	return canAccess(file, constants.X_OK);
}

export function isWritable(file: string): boolean {
	return canAccess(file, constants.W_OK);
}

function canAccess(file: string, mode: number): boolean {
	try {
		accessSync(file, mode);
		return true;
	} catch {
		return false;
	}
}
