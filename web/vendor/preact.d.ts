export { h, render, Component, Fragment, createRef } from 'preact';
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback } from 'preact/hooks';
export { html } from 'htm/preact';
