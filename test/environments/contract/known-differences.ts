/** Cases whose outcome differs between this machine and another one, and why. Everything else has to be the same. */
export const KNOWN_DIFFERENCES: Readonly<Record<string, string>> = {
	'Environment.sessionId: type': 'a session belongs to a server, and this machine has none; documented as undefined',
	'ProcessHandle.giveBack: own process': 'a process of this program has one client, so nobody else could drive it',
	'ProcessHandle.detach: own process': 'a process of this program ends with it, so it has no life without its client',
	'ProcessHandle.share: observer':
		'no other client can reach a process of this program; the server of the suite has no tokens and refuses for that',
};
