import {readOptions} from '../../shared/call-options.js';
import {requireCapability} from '../session/require-capability.js';
import type {ProcessAsker} from './process-session.js';
import {
	type ListedShare,
	type ProcessShare,
	requireRole,
	SCREEN_OPTIONS,
	type Screen,
	type ScreenOptions,
	SHARE_OPTIONS,
	type ShareOptions,
} from './shared-process.js';

/** The screen of a terminal behind a server. */
export async function fetchScreen(session: ProcessAsker, processId: string, given: ScreenOptions): Promise<Screen> {
	const {atSeq, at, format} = readOptions<ScreenOptions>(given, SCREEN_OPTIONS, 'screen()');
	if (atSeq !== undefined && at !== undefined)
		throw new TypeError('options `atSeq` and `at` of screen() exclude each other');
	const atMs = at === undefined ? undefined : at.valueOf();
	if (atMs !== undefined && !Number.isFinite(atMs)) throw new TypeError('option `at` of screen() must be a date');
	if (format !== undefined && format !== 'text' && format !== 'ansi')
		throw new TypeError("option `format` of screen() must be 'text' or 'ansi'");
	requireCapability((await session.describe()).capabilities, 'processScreen', 'screen()');
	return session.repeat('process/screen', {
		processId,
		...(atSeq !== undefined && {atSeq}),
		...(atMs !== undefined && {atMs}),
		...(format && {format}),
	});
}

/** A token for one process. */
export async function requestShare(
	session: ProcessAsker,
	processId: string,
	given: ShareOptions,
): Promise<ProcessShare> {
	const {role, for: forMs} = readOptions<ShareOptions>(given, SHARE_OPTIONS, 'share()');
	requireRole(role, 'share()');
	requireCapability((await session.describe()).capabilities, 'processShare', 'share()');
	const {
		expiresAtMs,
		shareId: _,
		...share
	} = await session.call('process/share', {
		processId,
		...(role && {role}),
		...(forMs !== undefined && {forMs: Math.round(forMs)}),
	});
	return {...share, expiresAt: new Date(expiresAtMs)};
}

/** Tokens for one process that are good now. */
export async function requestShares(session: ProcessAsker, processId: string): Promise<ListedShare[]> {
	requireCapability((await session.describe()).capabilities, 'processUnshare', 'shares()');
	const {shares} = await session.repeat('process/shares', {processId});
	return shares.map(({shareId, role, expiresAtMs}) => ({id: shareId, role, expiresAt: new Date(expiresAtMs)}));
}

/** Revokes a token for a process. */
export async function requestUnshare(session: ProcessAsker, shareId: string): Promise<boolean> {
	requireCapability((await session.describe()).capabilities, 'processUnshare', 'unshare()');
	return (await session.call('process/unshare', {shareId})).revoked;
}

/** Makes the server forget a process that has ended. */
export async function requestRemoval(session: ProcessAsker, processId: string): Promise<void> {
	requireCapability((await session.describe()).capabilities, 'processSpill', 'remove()');
	await session.call('process/remove', {processId});
}
