import { AsyncLocalStorage, AsyncResource, executionAsyncResource } from 'node:async_hooks'

/*
 * Stands in for `async-hook-domain`, by which tap finds the test that an error belongs to if nobody catches it. That
 * package has Node call a function for every promise and callback, which takes a third of the time of a test run.
 */

/** The domain of the test that is running, wherever its promises and callbacks lead to. */
const current = new AsyncLocalStorage()
/** Domains of tests that have not ended; the first one is that of the whole process. */
const open = new Set()

function tell(error, type) {
  // As with the package, a test that listens itself gets such errors instead.
  if (process.listenerCount(type) > 1) return
  let domain = current.getStore()
  while (domain && !open.has(domain)) domain = domain.parent
  const [first] = open
  ;(domain ?? first).onerror(error, type)
}
const tellException = (error) => tell(error, 'uncaughtException')
const tellRejection = (error) => tell(error, 'unhandledRejection')

export class Domain {
  constructor(onerror) {
    this.onerror = onerror
    this.parent = current.getStore()
    // tap creates the domain of a test within the resource in which it will run that test.
    const resource = executionAsyncResource()
    if (resource instanceof AsyncResource)
      resource.runInAsyncScope = (run, self, ...words) => current.run(this, () => run.apply(self, words))
    open.add(this)
    if (open.size > 1) return
    process.on('uncaughtException', tellException)
    process.on('unhandledRejection', tellRejection)
  }

  destroy() {
    open.delete(this)
    if (open.size > 0) return
    process.off('uncaughtException', tellException)
    process.off('unhandledRejection', tellRejection)
  }
}
