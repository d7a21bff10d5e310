/** This adapter serves AdapterService, as every adapter does. */
export { adapterRoutes as routes } from '@gateway/adapter-kit';
