export {
  HeddleError,
  isError,
  type ErrorCode,
  type ErrorDetails,
  type CancelSource,
} from './errors.ts'
