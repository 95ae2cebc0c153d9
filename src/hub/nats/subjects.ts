const SEPARATOR = '.';

/** Subjects of the messages between nodes. Ids have hexadecimal digits only, so none can name another subject. */
export const subjects = {
	/** Asks whether an executor is connected, and opens links to it. One subscription per executor: it is the lease that counts. */
	executor: (registrationId: string): string => `x.${registrationId}.here`,
	/** Sockets of this registration that are not the newest have to go. */
	gone: (registrationId: string): string => `x.${registrationId}.gone`,
	/** `gone` of all registrations: one subscription per node. */
	allGone: 'x.*.gone',
	/** Frames for a node: one subscription per node, so its interest is known everywhere before the first frame. */
	frames: (nodeId: string): string => `hub.${nodeId}.frames`,
	/** Questions of other nodes. */
	questions: (nodeId: string): string => `hub.${nodeId}.ask`,
} as const;

/** The registration in the subject of a message. */
export function registrationOf(subject: string): string {
	return subject.split(SEPARATOR)[1]!;
}
