interface Repetition {
  /** milliseconds from one start to the next */
  everyMs: number
  /** whether the first run starts at once, and not after that time */
  isAtOnce?: boolean
  /** A run. It ends soon when `isStopped` returns true. */
  run(isStopped: () => boolean): Promise<void>
  /** Called with the error of a run, unless the repetition has been stopped. */
  onError(error: unknown): void
}

/** Repeats background work. While a run takes longer, no second one starts beside it. Returns a stop function. */
export function repeat({ everyMs, isAtOnce = false, run, onError }: Repetition): () => void {
  let isStopped = false
  let isRunning = false
  const start = async () => {
    if (isRunning) return
    isRunning = true
    try {
      await run(() => isStopped)
    } catch (error) {
      if (!isStopped) onError(error)
    }
    isRunning = false
  }
  const timer = setInterval(start, everyMs).unref()
  if (isAtOnce) void start()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}
