const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
const STEP = 1024;
const SHORT_MS = 10_000;

/** `812 B`, `1.5 MiB`, `20.0 GiB`. */
export function formatBytes(bytes: number): string {
	let [value, unit] = [bytes, 0];
	while (value >= STEP && unit < UNITS.length - 1) {
		value /= STEP;
		unit++;
	}
	return unit === 0 ? `${Math.round(value)} B` : `${value.toFixed(1)} ${UNITS[unit]!}`;
}

/** `0:07`, `12:30`, `1:02:03`. */
export function formatTimeLeft(ms: number): string {
	const seconds = Math.ceil(ms / 1000);
	const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
	const tail = `${String(minutes).padStart(hours > 0 ? 2 : 1, '0')}:${String(rest).padStart(2, '0')}`;
	return hours > 0 ? `${hours}:${tail}` : tail;
}

/** A duration: `0.8 s`, `42 s`. */
export function formatSeconds(ms: number): string {
	return `${(ms / 1000).toFixed(ms < SHORT_MS ? 1 : 0)} s`;
}

export function formatCount(count: number, one: string, many = `${one}s`): string {
	return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}
