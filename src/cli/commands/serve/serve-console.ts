import {hostname} from 'node:os';
import {type ConsoleLogin, ConsoleLogins, type ConsoleSessionRecord} from '../../../console/server/console-logins.js';
import {CONSOLE_PREFIX, type ConsoleAdmission, ConsoleSite} from '../../../console/server/console-site.js';
import {loadPageFiles} from '../../../console/server/page-files.js';
import type {Authenticator} from '../../../server/auth/authenticator.js';
import {allows, type Grant} from '../../../server/auth/grant.js';
import type {ExecServer} from '../../../server/server.js';
import type {PreparedConnection} from '../../../transports/node/http-site.js';
import type {Transport} from '../../../transports/transport.js';

const MACHINE_ID = 'here';

export interface ServeConsoleOptions {
	readonly authenticator: Authenticator | undefined;
	readonly isSecure: boolean;
	/** Undefined while it is being loaded; no connection is accepted before. */
	readonly server: () => ExecServer | undefined;
	readonly accept: (transport: Transport, grant: Grant | undefined, user?: number) => void;
	readonly onRefused: (from: string | undefined, port: number | undefined, reason: string) => void;
	/** Of the program that this one has taken the place of. */
	readonly inherited: readonly ConsoleSessionRecord[];
}

/** The console of one server. */
export interface ServeConsole {
	readonly site: ConsoleSite;
	/** Address for a browser. Without tokens it has the secret of a login in it, which is good once. */
	linkFor(url: string): string;
	handOver(): ConsoleSessionRecord[];
}

export function createServeConsole(options: ServeConsoleOptions): ServeConsole {
	const {authenticator, isSecure, inherited, onRefused} = options;
	const logins = new ConsoleLogins();
	logins.adopt(inherited);
	const site = new ConsoleSite({
		files: loadPageFiles(),
		logins,
		machines: [{id: MACHINE_ID, name: hostname()}],
		isSecure,
		admit: login => admit(login, options),
		onRefused: ({socket}, text) => onRefused(socket.remoteAddress, socket.remotePort, text),
	});
	return {
		site,
		linkFor: url => {
			const page = `${url.replace(/^ws/, 'http')}${CONSOLE_PREFIX}/`;
			return authenticator ? page : `${page}#login=${logins.createLink()}`;
		},
		handOver: () => logins.handOver(),
	};
}

/** Without tokens the login link stands for the user; with them, each token for itself. */
async function admit(
	login: ConsoleLogin,
	{authenticator, server, accept}: ServeConsoleOptions,
): Promise<ConsoleAdmission> {
	if (!authenticator) {
		if (login.kind === 'token') return {kind: 'refused', text: 'this server knows no tokens'};
		return {kind: 'pass', hasRoom: true, connect: async () => prepare(undefined, accept)};
	}
	if (login.kind === 'owner') return {kind: 'refused', text: 'this server asks for a token'};
	const result = await authenticator.authenticate(`Bearer ${login.token}`, token => server()?.findShare(token));
	if (result.kind === 'refused') return result;
	const {pass: grant} = result;
	const role = allows(grant, 'drive') ? 'drive' : 'observe';
	return {
		kind: 'pass',
		share: grant.process && {processId: grant.process.id, role},
		hasRoom: server()?.hasRoom(grant) !== false,
		connect: async () => prepare(grant, accept),
	};
}

/** Nothing is opened for a browser before its own connection. */
function prepare(grant: Grant | undefined, accept: ServeConsoleOptions['accept']): PreparedConnection {
	return {accept: (transport, user) => accept(transport, grant, user), withdraw: () => {}};
}
