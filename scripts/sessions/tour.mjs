// What the picture in the README shows.
export const SESSION = {
	title: 'longarm',
	columns: 92,
	rows: 30,
	steps: [
		{
			window: 'server',
			type: 'mkdir there; cd there; longarm serve --listen ws://127.0.0.1:4500',
			shows: 'listening',
			keeps: {variable: 'URL', pattern: /ws:\/\/[\d.:]+/},
		},
		{type: 'longarm env add devbox ws://127.0.0.1:4500'},
		{type: `longarm run -e devbox -- sh -c 'echo "in $(basename $PWD)"; exit 3'; echo "exit code $?"`},
		{type: `printf 'pear\\nfig\\n' | longarm run -e devbox -- sort | head -1`},
		{type: 'seq 3000000 > numbers.txt'},
		{type: 'longarm cp numbers.txt devbox:'},
		{type: `longarm run -e devbox -- sh -c 'tail -1 numbers.txt | tee last.txt'`},
		{type: 'longarm get devbox:last.txt && longarm ls -l devbox:'},
		{type: `longarm shell -e devbox --env 'PS1=devbox> ' -- sh`, shows: '\ndevbox>'},
		{type: 'test -t 0 && echo "a terminal of $(stty size) over there"', shows: 'a terminal of 30'},
		{type: 'exit'},
	],
};
