// Runs before the first paint, as a classic script: the chosen theme must not flash.
{
    const theme = localStorage.getItem('ratoon.theme');
    if (theme) document.documentElement.dataset.theme = theme;
}
