import {requireArgv, toPipesOrTerminal, toStartDirectory} from '../../adapters/start-request.js';
import {V0_VERSION} from '../../protocol/methods/v0-methods.js';
import {INVALID_REQUEST, RpcError} from '../../protocol/wire/error-codes.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {recordStart, requireExecAllowed} from './start-rules.js';

/** Methods of the first protocol; a connection may use them together with the current ones. */
export const v0Handlers = {
	'command/exec': async ({argv, cwd, env, tty, arg0}, client) => {
		requireArgv(argv);
		requireExecAllowed(client.settings, 'direct');
		const {id: sessionId, pid} = await client.v0.start({
			argv,
			arg0: arg0 ?? undefined,
			cwd: toStartDirectory(cwd),
			env,
			environmentPolicy: undefined,
			io: toPipesOrTerminal(tty, false),
		});
		recordStart(client, {session: undefined, process: sessionId, pid, argv, sandbox: 'none'});
		return {sessionId};
	},

	'command/exec/write': async ({sessionId, chunk}, client) => {
		const process = client.v0.find(sessionId);
		if (!process) throw new RpcError(INVALID_REQUEST, `unknown session id ${sessionId}`);
		await process.started;
		if (!process.takesInput) throw new RpcError(INVALID_REQUEST, `stdin is closed for session ${sessionId}`);
		await process.write(chunk, undefined);
		return {accepted: true};
	},

	'command/exec/terminate': ({sessionId}, client) => {
		return {running: client.v0.find(sessionId)?.terminate().running ?? false};
	},
} satisfies Handlers<ClientConnection>;

/** Handlers of a server that speaks nothing but the first protocol. */
export const strictV0Handlers = {
	...v0Handlers,
	initialize: (_params, client) => {
		client.initialize();
		// No session id, unlike the later protocols: there is nothing to resume.
		return {protocolVersion: V0_VERSION} as {protocolVersion: string; sessionId: string};
	},
} satisfies Handlers<ClientConnection>;
