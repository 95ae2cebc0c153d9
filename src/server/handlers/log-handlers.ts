import {describeLoggedPage, type LogReader, readLoggedPage, requireEnded} from '../../adapters/logged-output.js';
import {encodeWithBytes} from '../../protocol/wire/encode.js';
import {base64Length} from '../../shared/base64.js';
import {accountOf} from '../auth/grant.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';
import {isOwner, notOwnerError} from '../sharing/process-access.js';

export const logHandlers = {
	'process/logs': async (params, client) => {
		const process = await client.registry.requireStarted(params.processId, client);
		const page = await readLoggedPage(process, params, toReader(client));
		return encodeWithBytes(describeLoggedPage(process, page));
	},

	'process/remove': async ({processId}, client) => {
		const process = client.registry.require(processId, client);
		if (!isOwner(process, client.grant)) throw notOwnerError(process.id);
		requireEnded(process);
		await client.registry.remove(process);
		return {};
	},
} satisfies Handlers<ClientConnection>;

function toReader(client: ClientConnection): LogReader {
	return {
		lifetime: client.lifetime,
		account: accountOf(client.grant) ?? client,
		reserve: (bytes, make) => client.flow.reserveReply(base64Length(bytes), make),
	};
}
