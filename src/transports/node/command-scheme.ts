import {LongarmError} from '../../shared/errors.js';
import type {ConnectCommandOptions} from './connect-command.js';
import type {TransportScheme} from './transport-scheme.js';

const PREFIX = 'cmd:';

export interface CommandTarget extends ConnectCommandOptions {
	readonly kind: 'command';
	readonly program: string;
}

export interface StdioListenAddress {
	readonly kind: 'stdio';
}

/** `cmd:COMMAND`, a command for the shell that speaks the protocol on its standard input and output; `stdio` is its end. */
export const COMMAND: TransportScheme<CommandTarget, StdioListenAddress> = {
	kind: 'command',
	prefixes: [PREFIX],
	startsServer: true,

	parseTarget(address, {onStderr}) {
		const command = address.slice(PREFIX.length).trim();
		if (command === '') {
			const message =
				'cmd: needs a command that speaks the protocol, such as `cmd:ssh host longarm serve --listen stdio`';
			throw new LongarmError('ENVIRONMENT_INVALID', {message});
		}
		return {kind: 'command', program: '/bin/sh', args: ['-c', command], ...(onStderr && {onStderr})};
	},

	describe({program, args = [], cwd}) {
		const members = {kind: 'command', program, args, ...(cwd !== undefined && {cwd})};
		const text = [program, ...args].map(quote).join(' ') + (cwd === undefined ? '' : ` (in ${cwd})`);
		return {members, text};
	},

	async connect({program, args, env, cwd, onStderr}) {
		const {connectCommand} = await import('./connect-command.js');
		return connectCommand(program, {
			...(args && {args}),
			...(env && {env}),
			...(cwd !== undefined && {cwd}),
			...(onStderr && {onStderr}),
		});
	},

	listenKind: 'stdio',
	listenForm: 'stdio',
	parseListenAddress: text => (text === 'stdio' || text === 'stdio://' ? {kind: 'stdio'} : undefined),
	usesTls: () => false,
	isReadableByOthers: () => false,
	isOpenToOtherUsers: () => false,

	async listen(_address, options) {
		const {listenOnStdio} = await import('./stdio.js');
		return listenOnStdio(options);
	},
};

function quote(word: string): string {
	return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`).replaceAll('\n', ' ')}'`;
}
