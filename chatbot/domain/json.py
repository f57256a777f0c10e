"""The JSON of the domain's classes (`to_json`).

The API answers with these classes and the OpenAPI document describes them, so that no
other type repeats their fields. Storage and caches keep every field instead
(`dataclasses.asdict`).
"""

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")
Hidden = Annotated[T, Field(exclude=True)]
"""A field that the API does not show."""
INLINE = "x-inline"
"""Marks the fields of a JSON schema whose own fields stand in their place
(`inlined`).
"""


class Inlines:
    """Base of a dataclass whose JSON has the fields of some of its fields in their
    place; its own fields win.
    """

    __slots__ = ()
    INLINED: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def write(value: Any, write_fields: Any) -> Any:
            data = write_fields(value)
            for name in cls.INLINED:
                data = {**data.pop(name), **data}
            return data

        schema: Any = handler(source)
        schema["serialization"] = core_schema.wrap_serializer_function_ser_schema(write)
        return cast("CoreSchema", schema)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        reference = handler(schema)
        handler.resolve_ref_schema(reference).update({INLINE: list(cls.INLINED)})
        return reference


def inlined(schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schemas by name, with the fields of `Inlines` in their place."""

    def whole(schema: dict[str, Any]) -> dict[str, Any]:
        properties, required = (
            dict(schema.get("properties", {})),
            list(schema.get("required", [])),
        )
        for name in schema.get(INLINE, ()):
            inner = whole(schemas[properties.pop(name)["$ref"].rpartition("/")[2]])
            properties = {**inner["properties"], **properties}
            required = list(
                dict.fromkeys(
                    [
                        *inner.get("required", ()),
                        *(one for one in required if one != name),
                    ]
                )
            )
        changed = (
            {"properties": properties, "required": required} if INLINE in schema else {}
        )
        return {
            key: value for key, value in {**schema, **changed}.items() if key != INLINE
        }

    return {name: whole(schema) for name, schema in schemas.items()}


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def to_json(value: Any, type_: Any = None) -> Any:
    """Return the JSON of a value of the domain, as ``type_`` or its own class describes
    it.
    """
    return _adapter(type(value) if type_ is None else type_).dump_python(
        value, mode="json", by_alias=True
    )
