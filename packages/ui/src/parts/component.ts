/** A component whose code is loaded when it is first shown. */
import type { ComponentType } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'

interface LoadedComponent<P> {
  readonly Content: ComponentType<P> | undefined
  readonly error: Error | undefined
}

/** `load` is called again when it is another function. */
export function useComponent<P>(load: () => Promise<ComponentType<P>>): LoadedComponent<P> {
  const [loaded, setLoaded] = useState<LoadedComponent<P>>({ Content: undefined, error: undefined })
  useLayoutEffect(() => {
    let isShown = true
    const show = (next: LoadedComponent<P>): void => {
      if (isShown) setLoaded(next)
    }
    load().then(
      (Content) => show({ Content, error: undefined }),
      (cause: unknown) => show({ Content: undefined, error: notLoaded(cause) }),
    )
    return () => {
      isShown = false
    }
  }, [load])
  return loaded
}

function notLoaded(cause: unknown): Error {
  const message =
    'This view could not be loaded: the server does not answer, or it was updated after this page was opened. Reload the page.'
  return new Error(message, { cause })
}
