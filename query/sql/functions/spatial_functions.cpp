// GeoJSON Point, LineString, Polygon and MultiPolygon on the WGS-84 ellipsoid: longitude, latitude; metres.

#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include <boost/geometry.hpp>
#include <boost/geometry/geometries/linestring.hpp>
#include <boost/geometry/geometries/multi_polygon.hpp>
#include <boost/geometry/geometries/point.hpp>
#include <boost/geometry/geometries/polygon.hpp>

#include "query/sql/functions/function_table.h"

namespace octavo::query::sql {

namespace {

namespace bg = boost::geometry;

using Arguments = std::span<const Value>;
using GeoPoint = bg::model::point<double, 2, bg::cs::geographic<bg::degree>>;
using GeoLine = bg::model::linestring<GeoPoint>;
using GeoPolygon = bg::model::polygon<GeoPoint, false>;  // outer rings are counter-clockwise, as in GeoJSON
using GeoMultiPolygon = bg::model::multi_polygon<GeoPolygon>;
using Geometry = std::variant<GeoPoint, GeoLine, GeoPolygon, GeoMultiPolygon>;

constexpr std::size_t points_max = 4096;  // of one geometry: Azure Cosmos DB's limit for polygons

/// Reads GeoJSON; if it is invalid, says why.
class GeometryReader {
 public:
  explicit GeometryReader(Evaluation& evaluation) : evaluation_(evaluation) {}

  std::optional<Geometry> read(const Value& value) {
    if (!value.is_object()) return wrong("The geometry must be an object with type and coordinates.");
    const Value type = value.member("type", evaluation_.arena);
    const Value coordinates = value.member("coordinates", evaluation_.arena);
    if (!type.is_string()) return wrong("The geometry has no type.");
    if (!coordinates.is_array()) return wrong("The geometry has no coordinates.");
    const std::string_view name = type.string();
    if (name == "Point") {
      GeoPoint point;
      if (!read_point(coordinates, point)) return std::nullopt;
      return point;
    }
    if (name == "LineString") {
      GeoLine line;
      if (!read_points(coordinates, line)) return std::nullopt;
      if (line.size() < 2) return wrong("A LineString must have at least two positions.");
      return line;
    }
    if (name == "Polygon") {
      GeoPolygon polygon;
      if (!read_polygon(coordinates, polygon)) return std::nullopt;
      return polygon;
    }
    if (name == "MultiPolygon") {
      GeoMultiPolygon polygons;
      Elements elements(coordinates);
      for (Value element; elements.next(element, evaluation_.arena);) {
        polygons.emplace_back();
        if (!read_polygon(element, polygons.back())) return std::nullopt;
      }
      if (polygons.empty()) return wrong("A MultiPolygon must have at least one polygon.");
      return polygons;
    }
    return wrong("The geometry's type must be Point, LineString, Polygon or MultiPolygon.");
  }

  const std::string& reason() const { return reason_; }

 private:
  std::nullopt_t wrong(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return std::nullopt;
  }

  bool read_point(const Value& value, GeoPoint& point) {
    if (++points_ > points_max || !evaluation_.step()) {
      wrong("The geometry has too many positions.");
      return false;
    }
    const Value longitude = value.element(0, evaluation_.arena);
    const Value latitude = value.element(1, evaluation_.arena);
    if (!longitude.is_number() || !latitude.is_number()) {
      wrong("A position must be an array of two numbers.");
      return false;
    }
    if (!(std::abs(latitude.number()) <= 90)) {
      wrong("Latitude values must be between -90 and 90 degrees.");
      return false;
    }
    if (!(std::abs(longitude.number()) <= 180)) {
      wrong("Longitude values must be between -180 and 180 degrees.");
      return false;
    }
    bg::set<0>(point, longitude.number());
    bg::set<1>(point, latitude.number());
    return true;
  }

  template <class Points>
  bool read_points(const Value& value, Points& points) {
    if (!value.is_array()) {
      wrong("Positions must stand in an array.");
      return false;
    }
    Elements elements(value);
    for (Value element; elements.next(element, evaluation_.arena);) {
      GeoPoint point;
      if (!read_point(element, point)) return false;
      points.push_back(point);
    }
    return true;
  }

  bool read_polygon(const Value& value, GeoPolygon& polygon) {
    Elements rings(value);
    bool first = true;
    for (Value ring; rings.next(ring, evaluation_.arena); first = false) {
      if (!first) polygon.inners().emplace_back();
      auto& points = first ? polygon.outer() : polygon.inners().back();
      if (!read_points(ring, points)) return false;
      if (points.size() < 4) {
        wrong("A polygon's ring must have at least four positions.");
        return false;
      }
      const auto& front = points.front();
      const auto& back = points.back();
      if (bg::get<0>(front) != bg::get<0>(back) || bg::get<1>(front) != bg::get<1>(back)) {
        wrong("The Polygon's ring is not closed: its first and last positions must be the same.");
        return false;
      }
    }
    if (first) {
      wrong("A Polygon must have at least one ring.");
      return false;
    }
    // A ring in either direction means its smaller side.
    bg::correct(polygon);
    return true;
  }

  Evaluation& evaluation_;
  std::string reason_;
  std::size_t points_ = 0;
};

std::optional<Geometry> geometry_of(Evaluation& evaluation, const Value& value) {
  return GeometryReader(evaluation).read(value);
}

// Boost throws exceptions for shapes that cross themselves.
template <class Ask>
Value ask(Evaluation& evaluation, Arguments arguments, Ask question) {
  const auto a = geometry_of(evaluation, arguments[0]);
  if (!a) return {};
  const auto b = geometry_of(evaluation, arguments[1]);
  if (!b) return {};
  try {
    const Value answer = std::visit(question, *a, *b);
    return evaluation.look() ? answer : Value();
  } catch (const bg::exception&) {
    return {};
  }
}

Value st_distance(Evaluation& evaluation, Arguments arguments) {
  return ask(evaluation, arguments, []<class A, class B>(const A& a, const B& b) {
    if constexpr (std::is_same_v<A, GeoPoint> && std::is_same_v<B, GeoPoint>) {
      return Value::of(bg::distance(a, b, bg::strategy::distance::vincenty<>()));
    } else {
      return Value::of(bg::distance(a, b));
    }
  });
}

Value st_intersects(Evaluation& evaluation, Arguments arguments) {
  return ask(evaluation, arguments, [](const auto& a, const auto& b) { return Value::of(bg::intersects(a, b)); });
}

template <class Shape>
constexpr bool is_area = std::is_same_v<Shape, GeoPolygon> || std::is_same_v<Shape, GeoMultiPolygon>;

Value st_within(Evaluation& evaluation, Arguments arguments) {
  return ask(evaluation, arguments, []<class A, class B>(const A& a, const B& b) {
    if constexpr (is_area<B>) return Value::of(bg::within(a, b));
    return Value();
  });
}

// Areas and lengths exist for every shape; they are 0 for shapes without any.
Value st_area(Evaluation& evaluation, Arguments arguments) {
  const auto geometry = geometry_of(evaluation, arguments[0]);
  if (!geometry) return {};
  return std::visit([](const auto& shape) { return Value::of(static_cast<double>(bg::area(shape))); }, *geometry);
}

Value st_is_valid(Evaluation& evaluation, Arguments arguments) {
  return Value::of(geometry_of(evaluation, arguments[0]).has_value());
}

Value st_is_valid_detailed(Evaluation& evaluation, Arguments arguments) {
  GeometryReader reader(evaluation);
  const bool valid = reader.read(arguments[0]).has_value();
  Member* members = evaluation.members(2);
  if (!members) return {};
  members[0] = {"valid", Value::of(valid)};
  if (!valid) members[1] = {"reason", evaluation.text(reader.reason())};
  return Value::object_of(members, valid ? 1 : 2);
}

constexpr Function spatial_function_table[] = {
    {"ST_AREA", 1, 1, st_area},
    {"ST_DISTANCE", 2, 2, st_distance},
    {"ST_INTERSECTS", 2, 2, st_intersects},
    {"ST_ISVALID", 1, 1, st_is_valid},
    {"ST_ISVALIDDETAILED", 1, 1, st_is_valid_detailed},
    {"ST_WITHIN", 2, 2, st_within},
};

}  // namespace

std::span<const Function> spatial_functions() {
  return spatial_function_table;
}

}  // namespace octavo::query::sql
