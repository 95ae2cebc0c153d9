import type {ProcessHandle} from '../../../client/process/process-handle.js';
import type {ProcessChange, ScreenSize} from '../../../client/process/shared-process.js';

type Seat = Pick<ProcessHandle, 'role' | 'driver'>;
type DriverChange = Extract<ProcessChange, {readonly kind: 'driverChanged'}>;

const LEAVE = '~d leaves';

/** Who drives, as seen by us. */
export function describeSeat({role, driver}: Seat, isSeatTaken: boolean): string {
	if (role === 'drive') return `you drive; ${LEAVE}`;
	const who = driver === undefined ? 'nobody drives' : `${driver} drives`;
	const instead = isSeatTaken ? ', so you are watching' : ' and you are watching';
	return `${who}${instead}; ~t takes over, ${LEAVE}`;
}

/** Undefined for a change that we have made ourselves: that is told when it is granted. */
export function describeDriverChange({driver, previous, reason}: DriverChange, {role}: Seat): string | undefined {
	if (role === 'drive') return undefined;
	if (driver !== undefined) {
		return reason === 'takeover' ? `${driver} has taken over; ~t takes it back` : `${driver} drives now; ~t takes over`;
	}
	const how = reason === 'disconnected' ? 'has lost its connection' : 'does not drive any more';
	return `${previous ?? 'the driver'} ${how}; ~t takes over`;
}

/** Undefined if all of the terminal fits into the window. */
export function describeSmallWindow(own: ScreenSize, other: ScreenSize): string | undefined {
	if (own.rows >= other.rows && own.cols >= other.cols) return undefined;
	return `the terminal there is ${other.cols}x${other.rows}, this window only ${own.cols}x${own.rows}: enlarge it to see all`;
}
