import {writeSync} from 'node:fs';
import {loadLibc} from '../../../processes/backends/linux/libc.js';
import {LongarmError} from '../../../shared/errors.js';
import {silentLogger} from '../../../shared/logger.js';
import {HANDOFF_VERSION} from '../../../shared/node/handoff-file.js';
import {EXIT} from '../../exit-codes.js';
import {readSecurity} from './security.js';
import {parseListenSetting} from './serve-endpoint.js';
import type {Settings} from './serve-settings.js';

const STDOUT = 1;

/** The answer of a program that reads states of this version. */
export function handoffAnswer(version: number | string): string {
	return `longarm reads handoff ${version}`;
}

/**
 * Answers a server that is about to become this program: whether this one reads its state, and starts with its settings.
 * Anything but the answer means no.
 */
export async function checkHandoff(version: string, settings: Settings): Promise<number> {
	if (version !== String(HANDOFF_VERSION)) {
		throw refused(`the state has the version ${version}, and this program reads ${HANDOFF_VERSION}`);
	}
	if (!loadLibc()) throw refused('the native part of this program (koffi) is missing');
	await readSecurity(settings, parseListenSetting(settings.listen, settings.protocol), silentLogger);
	writeSync(STDOUT, `${handoffAnswer(version)}\n`);
	return EXIT.ok;
}

function refused(message: string): LongarmError {
	return new LongarmError('UPGRADE_FAILED', {message});
}
