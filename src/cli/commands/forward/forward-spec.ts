import {usageError} from '../../exit-codes.js';

const LISTEN_ADDRESS = '127.0.0.1';
const REMOTE_HOST = 'localhost';
const LAST_PORT = 65_535;

/** Where to listen here, and what to connect to there. */
export interface ForwardSpec {
	readonly address: string;
	/** 0 for a free one. */
	readonly port: number;
	readonly host: string;
	readonly remotePort: number;
}

/** `3000`, `8080:3000`, `127.0.0.1:8080:3000`, `8080:db:5432`, `[::1]:8080:[::1]:5432`. */
export function parseForward(text: string): ForwardSpec {
	const words = splitWords(text);
	const isPort = words.map(word => /^\d{1,5}$/.test(word) && Number(word) <= LAST_PORT);
	const {length} = words;
	if (length === 1 && isPort[0]) return toSpec(text, LISTEN_ADDRESS, words[0]!, REMOTE_HOST, words[0]!);
	if (length === 2 && isPort[0] && isPort[1]) return toSpec(text, LISTEN_ADDRESS, words[0]!, REMOTE_HOST, words[1]!);
	if (length === 3 && isPort[0] && !isPort[1] && isPort[2]) {
		return toSpec(text, LISTEN_ADDRESS, words[0]!, words[1]!, words[2]!);
	}
	if (length === 3 && !isPort[0] && isPort[1] && isPort[2]) {
		return toSpec(text, words[0]!, words[1]!, REMOTE_HOST, words[2]!);
	}
	if (length === 4 && isPort[1] && isPort[3]) return toSpec(text, words[0]!, words[1]!, words[2]!, words[3]!);
	throw invalidForward(text);
}

/** As `parseForward` takes it. */
export function formatHostPort(host: string, port: number): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function toSpec(text: string, address: string, port: string, host: string, remotePort: string): ForwardSpec {
	if (address === '' || host === '' || Number(remotePort) === 0) throw invalidForward(text);
	return {address, port: Number(port), host, remotePort: Number(remotePort)};
}

/** Parts between colons; an address with colons of its own stands in brackets. */
function splitWords(text: string): string[] {
	if (!/^(?:\[[^[\]]*\]|[^[\]:]*)(?::(?:\[[^[\]]*\]|[^[\]:]*))*$/.test(text)) throw invalidForward(text);
	return [...text.matchAll(/\[([^[\]]*)\]|[^:]+|(?<=^|:)(?=:|$)/g)].map(match => match[1] ?? match[0]);
}

function invalidForward(text: string): Error {
	const message = `cannot forward \`${text}\`; expected PORT or [ADDRESS:]PORT:[HOST:]PORT, such as 3000, 8080:3000 or 8080:db.internal:5432`;
	return usageError(message);
}
