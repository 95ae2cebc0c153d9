/** File access to the machine whose ports are checked. */
export interface PortSource {
	readFile(path: string): Promise<Uint8Array>;
}

/** Linux's tables of TCP sockets: one line each, the address second, the state fourth. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const LISTENING = '0A';

/** True if a program listens on a TCP port of a Linux machine; no connection is made. */
export async function isListening(files: PortSource, port: number): Promise<boolean> {
	const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
	for (const table of TABLES) {
		const rows = (await readTable(files, table)).split('\n').map(line => line.trim().split(/\s+/));
		if (rows.some(([, address, , state]) => address?.endsWith(suffix) && state === LISTENING)) return true;
	}
	return false;
}

async function readTable(files: PortSource, table: string): Promise<string> {
	try {
		return new TextDecoder().decode(await files.readFile(table));
	} catch (error) {
		// Machines without IPv6 have no second table.
		if (table === TABLES[0]) throw error;
		return '';
	}
}
