/** Frames of a stack that do not belong to the code of the jobs. */
const own =
  /[/\\]node_modules[/\\](@heddle[/\\]|heddle[/\\])|[/\\]packages[/\\](analyze|cli|core|release|server)[/\\](src|dist)[/\\]/

/** Whether a frame, or a file, is of this package or of the engine. */
export function isOurs(frame: string): boolean {
  return own.test(frame)
}
