/** Bytes of replies that the connections of one account may have in memory together. */
export const MAX_ACCOUNT_REPLY_BYTES = 32 * 1024 * 1024;
/** A connection without a reply in memory may always make one of this size: it waits for no other that does not read. */
export const MAX_FIRST_REPLY_BYTES = 4 * 1024 * 1024;
/** Length of requests that the connections of one account may have pending together. */
const MAX_ACCOUNT_REQUEST_LENGTH = 64 * 1024 * 1024;
/** Bounds of the same for one connection. */
const MIN_REQUEST_LENGTH = 1024 * 1024;
const MAX_REQUEST_LENGTH = 16 * 1024 * 1024;
/** Bounds of the unread bytes of one connection: the account's bytes are divided among its connections. */
const MIN_UNREAD_BYTES = 64 * 1024;
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;
/** How often connections are checked for progress while another one of the account waits for room. */
const STALL_CHECK_MS = 5000;
/** Checks without progress after which a connection that does not read is closed; its session can be resumed. */
const MAX_STALLED_CHECKS = 6;

/** A connection that takes part in a share. */
export interface ShareMember {
	/** Bytes of replies that are reserved or unsent. */
	readonly heldBytes: number;
	/** Bytes accepted by the transport that the system has not taken. */
	readonly backlog: number;
	/** Makes the replies that wait, as far as there is room. */
	admitReplies(): void;
	/** Closes the connection, because it takes nothing while others wait. */
	giveUp(): void;
}

interface Observed {
	backlog: number;
	stalledChecks: number;
}

/** Memory for replies that the connections of one account share. */
export class ReplyShare {
	readonly #members = new Map<ShareMember, Observed>();
	readonly #waiting = new Set<ShareMember>();
	#heldBytes = 0;
	#timer: NodeJS.Timeout | undefined;

	/** Unread bytes above which requests of a connection are not read. */
	get maxUnreadBytes(): number {
		return this.#divide(MAX_ACCOUNT_REPLY_BYTES, MIN_UNREAD_BYTES, MAX_UNREAD_BYTES);
	}

	/** Length of the pending requests of a connection above which no more are read. */
	get maxRequestLength(): number {
		return this.#divide(MAX_ACCOUNT_REQUEST_LENGTH, MIN_REQUEST_LENGTH, MAX_REQUEST_LENGTH);
	}

	#divide(total: number, min: number, max: number): number {
		return Math.min(Math.max(total / Math.max(1, this.#members.size), min), max);
	}

	join(member: ShareMember): void {
		this.#members.set(member, {backlog: 0, stalledChecks: 0});
	}

	/** Whether a member may reserve so many bytes. One larger reply at a time is allowed. */
	hasRoom(member: ShareMember, bytes: number): boolean {
		if (this.#heldBytes + bytes <= MAX_ACCOUNT_REPLY_BYTES) return true;
		return member.heldBytes === 0 && (bytes <= MAX_FIRST_REPLY_BYTES || this.#heldBytes === 0);
	}

	/** Counts bytes that a member has reserved, or freed. */
	add(bytes: number): void {
		this.#heldBytes += bytes;
		if (bytes < 0) for (const member of Array.from(this.#waiting)) member.admitReplies();
	}

	/** A member waits for room, or no longer. */
	setWaiting(member: ShareMember, isWaiting: boolean): void {
		if (isWaiting) this.#waiting.add(member);
		else this.#waiting.delete(member);
		if (this.#waiting.size > 0) this.#timer ??= setInterval(() => this.#closeStalled(), STALL_CHECK_MS).unref();
		else this.#stopTimer();
	}

	leave(member: ShareMember): void {
		this.#members.delete(member);
		this.setWaiting(member, false);
	}

	/** The connection with the most bytes, of those that take nothing, makes room for the others. */
	#closeStalled(): void {
		let largest: ShareMember | undefined;
		for (const [member, observed] of this.#members) {
			const {backlog} = member;
			observed.stalledChecks = backlog > 0 && backlog >= observed.backlog ? observed.stalledChecks + 1 : 0;
			observed.backlog = backlog;
			const isStalled = observed.stalledChecks >= MAX_STALLED_CHECKS;
			if (isStalled && backlog > (largest?.backlog ?? 0)) largest = member;
		}
		const isWanted = [...this.#waiting].some(member => member.heldBytes === 0);
		if (isWanted) largest?.giveUp();
	}

	#stopTimer(): void {
		clearInterval(this.#timer);
		this.#timer = undefined;
		for (const observed of this.#members.values()) observed.stalledChecks = 0;
	}
}
