/** What is different every time, or on every machine, and what stands for it. */
const VARYING: readonly (readonly [RegExp, string])[] = [
	[/\b127\.0\.0\.1:\d{4,5}\b/g, '127.0.0.1:PORT'],
	[/localhost:\d{4,5}\b/g, 'localhost:PORT'],
	[/longarm \d+\.\d+\.\d+\S*(?=,|$)/gm, 'longarm VERSION'],
	[/\b\d+(?:\.\d+)? ms\b/g, 'N ms'],
	[/\b(?:x86_64|aarch64|arm64)\b/g, 'ARCH'],
	[/ARCH, \/\S+,/g, 'ARCH, SHELL,'],
	// Shown to root only.
	[/\n.* warn {2}this server runs as root .*/g, ''],
	[/(?<!\d)\d\d:\d\d:\d\d(?:\.\d+)?/g, 'TIME'],
	[/ in \d+\.\d s \([\d.]+ \w+\/s\)/g, ' in TIME (RATE)'],
	[/\bpid=\d+/g, 'pid=PID'],
	// Ids of processes, and the columns of a list that are never the same.
	[/\b[0-9a-f]{12}\b/g, 'ID__________'],
	[/(?<=(?:running|closed) +(?:-|\d+)) +\d+(?= {2})/g, '  PID'],
	[/ +\d+[smh](?= {2}\S+.*$)/gm, '  AGE'],
	[/\d{4}-\d\d-\d\dTTIMEZ/g, 'DATE'],
	[/(?<=EXIT|WAITING) +(?=PID|AGE)/g, '  '],
	[/\S+@\S+ pts\/\d+/g, 'USER@HOST TERMINAL'],
	// What this machine has is the doctor's business and nobody else's.
	[/^(?:ok {5}|limited|MISSING) {2}([a-z]+(?: [a-z]+)*) {2,}.*$/gm, 'STATUS $1'],
	[/^ +mend it with: .*\n/gm, ''],
];

/** A screen that is the same every time, as long as the program is. */
export function tidy(screen: string, directory: string): string {
	const text = screen.replaceAll(directory, 'DIR');
	return `${VARYING.reduce((before, [pattern, word]) => before.replaceAll(pattern, word), text)}\n`;
}
