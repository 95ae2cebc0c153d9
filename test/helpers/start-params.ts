/** A script to start, with the search path and nothing else of this process's variables. */
export const sh = (processId: string, script: string, more: object = {}) => ({
	processId,
	argv: ['/bin/sh', '-c', script],
	cwd: 'file:///tmp',
	env: {PATH: process.env['PATH']!},
	tty: false,
	...more,
});
