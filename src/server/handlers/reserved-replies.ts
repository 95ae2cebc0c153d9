import type {RequestName} from '../../protocol/methods/method-table.js';
import type {Request} from '../../protocol/wire/envelope.js';
import type {ClientConnection} from '../connection/client-connection.js';
import type {Handlers} from '../connection/dispatch.js';

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Bytes reserved for requests whose reply, or whose work, has a size that is known only afterwards. They bound how many
 * of them run at once, for a connection and for its account. Methods that know the size of their reply reserve it
 * themselves, and replies that are made at once are bounded by the send buffer.
 */
const RESERVED_BYTES: {readonly [M in RequestName]?: number} = {
	'fs/readDirectory': MIB,
	'fs/walk': MIB,
	'fs/canonicalize': 64 * KIB,
	'fs/createDirectory': 64 * KIB,
	'fs/rename': 64 * KIB,
	'fs/remove': 512 * KIB,
	'fs/copy': MIB,
	'fs/digest': MIB,
	'fs/setAttributes': MIB,
	'fs/finish': MIB,
	'process/list': MIB,
	'process/screen': 2 * MIB,
	'process/snapshot': 2 * MIB,
	'capabilities/discoverV2': MIB,
	'environmentConfig/read': MIB,
};

type AnyHandler = (params: never, client: ClientConnection, request: Request) => unknown;

/** Wraps handlers of the requests above: each begins when there is room for its reply. */
export function withReservedReplies<H extends Handlers<ClientConnection>>(handlers: H): H {
	return Object.fromEntries(
		Object.entries(handlers as unknown as Record<string, AnyHandler>).map(([method, handle]): [string, AnyHandler] => {
			const bytes = RESERVED_BYTES[method as RequestName];
			if (bytes === undefined) return [method, handle];
			return [
				method,
				(params, client, request) => client.flow.reserveReply(bytes, () => handle(params, client, request)),
			];
		}),
	) as unknown as H;
}
