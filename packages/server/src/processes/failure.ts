/** Reports that the processes could not start, or that one of them does not keep running. */
export class ProcessesFailed extends Error {
  override name = 'ProcessesFailed';
}
