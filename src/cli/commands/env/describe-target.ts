import type {RemoteTarget} from '../../../environments/remote/remote-target.js';
import {withoutSecrets} from '../../../transports/node/connect-web-socket.js';

/** How an environment is reached, without its secrets. */
export type TargetDescription =
	| {readonly kind: 'local'}
	| {readonly kind: 'websocket'; readonly url: string; readonly hasToken: boolean}
	| {readonly kind: 'command'; readonly program: string; readonly args: readonly string[]; readonly cwd?: string}
	| {readonly kind: 'other'};

export function describeTarget(target: RemoteTarget | undefined): TargetDescription {
	switch (target?.kind) {
		case undefined:
			return {kind: 'local'};
		case 'websocket':
			return {kind: 'websocket', url: withoutSecrets(target.url), hasToken: Boolean(target.token)};
		case 'command': {
			const {program, args = [], cwd} = target;
			return {kind: 'command', program, args, ...(cwd !== undefined && {cwd})};
		}
		case 'transport':
		case 'provisioned':
			return {kind: 'other'};
	}
}

/** On one line, for people. */
export function inWords(described: TargetDescription): string {
	switch (described.kind) {
		case 'local':
			return 'this machine';
		case 'websocket':
			return described.hasToken ? `${described.url} (with a token)` : described.url;
		case 'command': {
			const {program, args, cwd} = described;
			return [program, ...args].map(quoted).join(' ') + (cwd === undefined ? '' : ` (in ${cwd})`);
		}
		case 'other':
			return 'elsewhere';
	}
}

function quoted(word: string): string {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`).replaceAll('\n', ' ')}'`;
}
