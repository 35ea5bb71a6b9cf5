/** Text from the API document, in which backticks mark code. */
export function WithCode({ text }: { text: string }) {
  return (
    <>
      {text.split('`').map((part, index) =>
        index % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text keep their places
          <code key={index}>{part}</code>
        ) : (
          part
        ),
      )}
    </>
  );
}
