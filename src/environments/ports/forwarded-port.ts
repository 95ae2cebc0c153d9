/** Where to listen here, and what to connect to there. */
export interface ForwardSpec {
	readonly address: string;
	/** 0 for a free one. */
	readonly port: number;
	readonly host: string;
	readonly remotePort: number;
}

/** `127.0.0.1:80`, `[::1]:80`. */
export function formatHostPort(host: string, port: number): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
