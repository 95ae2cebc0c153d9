import type {ForwardSpec} from '../../../environments/ports/forwarded-port.js';
import {usageError} from '../../exit-codes.js';

const LISTEN_ADDRESS = '127.0.0.1';
const REMOTE_HOST = 'localhost';
const LAST_PORT = 65_535;

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
