/** Keeps the page as high as the part of it that is seen: a keyboard on the screen of a phone covers the rest. */
export function followViewport(): void {
	const {visualViewport} = window;
	if (!visualViewport) return;
	const apply = (): void => {
		document.documentElement.style.setProperty('--viewport', `${Math.round(visualViewport.height)}px`);
		// Browsers scroll the page to show the focused element, although all of it fits.
		window.scrollTo(0, 0);
	};
	visualViewport.addEventListener('resize', apply);
	apply();
}
