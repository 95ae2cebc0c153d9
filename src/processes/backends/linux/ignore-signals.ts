// Linux only: signal() of the C library, through koffi.
import {loadKoffi} from '../../../shared/node/koffi.js';

/** Real-time signals, which Node has no names for; the two before them are the C library's own. */
const FIRST_REAL_TIME = 34;
const LAST_REAL_TIME = 64;
const SIG_IGN = 1;

/** Ignores the real-time signals, each of which would end this process without a word. Children start with the defaults. */
export function ignoreRealTimeSignals(): void {
	if (process.platform !== 'linux') return;
	try {
		// Handlers are pointers, which are as wide as this number.
		const signal = loadKoffi().load(null).func('long signal(int number, long handler)');
		for (let number = FIRST_REAL_TIME; number <= LAST_REAL_TIME; number++) signal(number, SIG_IGN);
	} catch {
		// Without koffi they stay as they are.
	}
}
