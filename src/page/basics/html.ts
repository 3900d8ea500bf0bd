import { type ComponentChildren, h, type JSX } from 'preact'

type Tags = {
  [Tag in keyof JSX.IntrinsicElements]: (
    properties?: JSX.IntrinsicElements[Tag] | null,
    ...children: ComponentChildren[]
  ) => JSX.Element
}

/** A function per tag, checked by the compiler: `html.a({ href: '#/' }, 'Models')`. */
export const html = new Proxy({} as Tags, {
  get:
    (_tags, tag: string) =>
    (properties: object | null = null, ...children: ComponentChildren[]) =>
      h(tag, properties, ...children),
})

/** Class names, without those that do not apply. */
export const classes = (...names: (string | false | undefined)[]) => names.filter(Boolean).join(' ')
