// A person watches the build of an agent, takes over where it asks for a password, and gives back.
const BUILD = `printf "compiling\\n"; stty -echo; printf "Password: "; read secret; stty echo; printf "\\nunlocked\\n"; read go; read word; echo "the agent said $word"; exit 4`;

export const SESSION = {
	title: 'longarm',
	columns: 92,
	rows: 34,
	steps: [
		{
			window: 'server',
			type: 'longarm serve --listen unix:$PWD/serve.sock --state $PWD/state --log-level warn',
			shows: 'serve.sock',
		},
		{type: 'export LONGARM_EXEC_SERVER_URL=unix:$PWD/serve.sock'},
		{window: 'agent', type: 'export LONGARM_EXEC_SERVER_URL=unix:$PWD/serve.sock'},
		{window: 'agent', type: `longarm run -q -d --name build --tty -- sh -c '${BUILD}'`},
		{window: 'agent', type: 'longarm attach -q build', shows: 'Password:'},
		{type: 'longarm wait -q build --input'},
		{type: 'longarm ps -q'},
		{type: 'longarm attach -q --take build', shows: 'Password:'},
		{type: 'hunter2', shows: 'unlocked'},
		{type: '~o', shows: 'watching'},
		{window: 'agent', type: '~t', shows: 'you drive'},
		{window: 'agent', type: 'done', shows: 'the agent said'},
		{type: '', shows: '$'},
		{type: 'longarm wait -q build --exit; echo "exit code $?"'},
		{type: 'grep -l hunter2 state/processes/*/* || echo "the password is in none of its files"'},
	],
};
