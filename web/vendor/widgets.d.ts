export * as base from '@jupyter-widgets/base';
export * as controls from '@jupyter-widgets/controls';
export { ManagerBase } from '@jupyter-widgets/base-manager';
export { Widget } from '@lumino/widgets';
export { MessageLoop } from '@lumino/messaging';
export { default as anywidget } from 'anywidget';
