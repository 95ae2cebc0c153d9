import {render} from 'preact';
import {App} from './app.js';
import {beginSession} from './login-state.js';
import {allowMadeStyles} from './style-nonce.js';
import {followViewport} from './viewport-height.js';
import './console.css';

allowMadeStyles();
followViewport();
void beginSession();
render(<App />, document.querySelector('#app')!);
