// What the picture in the README shows.
export const SESSION = {
	title: 'longarm',
	columns: 92,
	rows: 24,
	steps: [
		{
			window: 'server',
			type: 'longarm serve --allow-forward loopback',
			shows: 'listening',
			keeps: {variable: 'URL', pattern: /ws:\/\/[\d.:]+/},
		},
		{type: 'longarm env add devbox $URL'},
		{type: 'longarm env test'},
		{type: 'longarm forward -e devbox 0:3000', shows: '->', press: 'C-c'},
		{type: 'longarm env remove devbx'},
	],
};
