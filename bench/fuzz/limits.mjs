import {MIB} from '../lib/measure.mjs';

/** Clients at work at once. */
export const CLIENTS = 8;
/** Processes that may live at once, over all connections. */
export const MAX_LIVE = 40;
/** Share of the episodes that are on stdio. They are long, since each has a server of its own. */
export const STDIO_SHARE = 0.08;
export const MAX_FRAGMENTS = 500;
/** Violations after which there is nothing more to learn. */
export const MAX_VIOLATIONS = 10;
/** Messages that are printed with a violation, the last ones. */
export const TAIL_LINES = 40;

export const DETACHED_SESSION_MS = 2000;
export const RETAIN_CLOSED_MS = 2000;
/** The longest a process is kept for a client that may come back. */
export const MAX_KEEP_MS = 3000;

/** How long the server may take to answer, to hang up, and to give back what it held; 64 MiB take a while to send. */
export const ANSWER_MS = 30_000;
export const HANG_UP_MS = 30_000;
export const RECLAIM_MS = 15_000;
export const RSS_GROWTH_MIB = 64;

/** Bounds of the protocol; those of depth and keys are the server's own. */
export const MAX_VALUES = 262_144;
export const MAX_DEPTH = 127;
export const LONG_KEY_CHARS = 16_384;
export const MAX_LONG_KEYS = 16;
export const MAX_FRAME = 16 * MIB;
export const MAX_MESSAGE = 64 * MIB;
