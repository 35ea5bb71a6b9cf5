/** Reports something that the operator can act on. Commands print its message in one line. */
export class OperatorError extends Error {
  override name = 'OperatorError';
}
